/** Rules, ladders and lists are named alike: in lower-case words joined by "-". */
export const NAME_PATTERN = '^[a-z][a-z0-9]*(-[a-z0-9]+)*$';

export const NAME_CHARACTERS_MAX = 64;

const NAME = new RegExp(NAME_PATTERN);

export function isName(text: string): boolean {
  return text.length <= NAME_CHARACTERS_MAX && NAME.test(text);
}

const LIST_NAME_FORM =
  'lower-case words joined by "-", starting with a letter, at most 64 characters, like fast-methods';

/** The message for a list that cannot have this name. */
export const LIST_NAME_RULE = `The name of a list has ${LIST_NAME_FORM}.`;

/** The same of a name in a file. */
export function listNameRefusal(name: string): string {
  return `the name of a list has ${LIST_NAME_FORM}, unlike "${name}"`;
}
