/** The package's own declarations do not compile; tsconfig.json puts this in their place. */
declare function clusterKeySlot(key: string): number;
export default clusterKeySlot;
