/** The longest key that the interface allows (section 8), in code points. */
export const KEY_CHARACTERS_MAX = 256;
