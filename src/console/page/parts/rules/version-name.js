/** How a version is named, for the field of a form; a test holds it equal to what the service takes. */
export const VERSION_NAME = 'p(0|[1-9]\\d{0,5})\\.v(0|[1-9]\\d{0,5})(-[a-z][a-z0-9]{0,15})?';

/** Why a version cannot have this name. @param {string} version */
export function takenName(version) {
  return new Error(`${version} exists already; choose another name.`);
}
