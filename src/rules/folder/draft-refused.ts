/** The draft cannot be made; the message says why and what to do. */
export class DraftRefused extends Error {
  override readonly name = 'DraftRefused';
}
