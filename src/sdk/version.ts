/** The library's version, as in package.json; sent in the User-Agent. */
export const VERSION = '0.1.0';
