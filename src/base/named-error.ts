/**
 * An error that is expected to happen, with a message for people. Its name is that of its class. Every other error is
 * a bug.
 */
export class NamedError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}
