/** How a version is named, for the field of a form; a test holds it equal to what the service takes. */
export const VERSION_NAME = 'p\\d{1,6}\\.v\\d{1,6}(-[a-z][a-z0-9]{0,15})?';

/** Why a version cannot be named so. @param {string} version */
export function takenName(version) {
  return new Error(`${version} exists already; choose another name.`);
}
