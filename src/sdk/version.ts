/** Of the library, as package.json has it; callers' logs see it in the User-Agent. */
export const VERSION = '0.1.0';
