import type { CommanderError } from 'commander';
import { NamedError } from '#base/named-error.ts';

/** Exit codes of every command: 0 fine, 1 findings, 2 bad usage, 3 environment. */
export const EXIT = { fine: 0, findings: 1, usage: 2, environment: 3 } as const;

/** The exit code of an error of commander, which throws its help, too. */
export function toExitCode({ exitCode }: CommanderError): number {
  return exitCode === 0 ? EXIT.fine : EXIT.usage;
}

/** The named thing has faults; the message lists them all. */
export class FindingsError extends NamedError {}

/** What the command names is not there. */
export class NotFoundError extends FindingsError {}

/** What is there now stands against it; nothing was changed. */
export class RefusedError extends NamedError {}

/** The operating system refused, mostly about a file or a folder. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

/** The command was called wrongly; the message says what is allowed. */
export class UsageError extends NamedError {}
