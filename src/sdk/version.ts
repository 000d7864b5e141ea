/** The library's version, as in package.json. The User-Agent contains it. */
export const VERSION = '0.1.0';
