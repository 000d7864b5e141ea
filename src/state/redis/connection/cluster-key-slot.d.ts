/** The package's own declarations do not compile, so tsconfig.json puts this file in their place. */
declare function clusterKeySlot(key: string): number;
export default clusterKeySlot;
