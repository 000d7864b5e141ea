/** How the name of a list is written, for messages. */
export const LIST_NAME_FORM =
  'lower-case words joined by "-", starting with a letter, at most 64 characters, like fast-methods';

export const LIST_NAME_PATTERN = '^[a-z][a-z0-9]*(-[a-z0-9]+)*$';

export const LIST_NAME_CHARACTERS_MAX = 64;

const LIST_NAME = new RegExp(LIST_NAME_PATTERN);

/** Lists of a rule set and shared lists are named alike. */
export function isListName(text: string): boolean {
  return text.length <= LIST_NAME_CHARACTERS_MAX && LIST_NAME.test(text);
}
