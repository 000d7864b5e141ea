import type { CommanderError } from 'commander';
import { NamedError } from '#base/named-error.ts';

/**
 * The exit codes of every command: 0 if all is well, 1 for findings, 2 for wrong usage, and 3 if something outside
 * the command fails.
 */
export const EXIT_CODES = { fine: 0, findings: 1, usage: 2, environment: 3 } as const;

/** Returns the exit code for an error of commander. Commander also throws an error when it has printed help. */
export function toExitCode({ exitCode }: CommanderError): number {
  return exitCode === 0 ? EXIT_CODES.fine : EXIT_CODES.usage;
}

/** The error of a command that found faults in the thing that it names. The message lists them all. */
export class FindingsError extends NamedError {}

/** The error of a command that names a thing that does not exist. */
export class NothingFoundError extends FindingsError {}

/** The error of a command whose change the present state does not allow. Nothing was changed. */
export class StateForbidsChangeError extends NamedError {}

/** Whether the operating system refused a call, in most cases about a file or a folder. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

/** The error of a command that was called wrongly. The message says what is allowed. */
export class UsageError extends NamedError {}
