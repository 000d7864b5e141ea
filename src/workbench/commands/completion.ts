import { Argument, type Command } from 'commander';
import { print } from './print.ts';

const SHELLS = ['bash', 'zsh'] as const;

/** Adds `completion`, which prints a script that completes the existing commands in a shell. */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description(
      'print what completes commands and options in a shell; for bash: eval "$(scoring completion bash)"',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: (typeof SHELLS)[number]) => print(formatCompletionScript(program, shell)));
}

/** Formats a script for bash. With one more line at its beginning, zsh runs it, too. */
function formatCompletionScript(program: Command, shell: (typeof SHELLS)[number]): string {
  const cases = program.commands.flatMap((command) => [
    ...command.commands.map((one) => formatShellCase(`*' ${command.name()} ${one.name()}'`, one)),
    formatShellCase(`'2 ${command.name()} '*`, command),
    formatShellCase(`*' ${command.name()} '*`, command),
  ]);
  return [
    ...(shell === 'zsh' ? ['autoload -U +X bashcompinit && bashcompinit'] : []),
    '_scoring() {',
    '  local choices',
    '  case "$COMP_CWORD ${COMP_WORDS[1]} ${COMP_WORDS[2]}" in',
    `    '1 '*) choices='${program.commands.map((one) => one.name()).join(' ')}' ;;`,
    ...cases,
    '  esac',
    '  COMPREPLY=($(compgen -W "$choices" -- "${COMP_WORDS[COMP_CWORD]}"))',
    '}',
    'complete -F _scoring scoring',
  ].join('\n');
}

/** Formats one case of the script: the subcommands and the options of a command. */
function formatShellCase(pattern: string, command: Command): string {
  const below = command.commands.map((one) => one.name());
  const options = command.options.flatMap(({ long }) => long ?? []);
  return `    ${pattern}) choices='${[...below, ...options, '--help'].join(' ')}' ;;`;
}
