import type { EndedProcess } from '../processes/node-process.ts';
import { itTells, paragraphsOf } from '../rule-fixtures/told.ts';

/** Where the commands of a paragraph run. */
export interface Stage {
  run(args: readonly string[]): Promise<EndedProcess>;
  /** What differs from run to run, by the name that stands for it in commands and in what they print. */
  readonly named?: Readonly<Record<string, string | RegExp>>;
  end?(): void;
}

/**
 * Tests that commands print what a file has kept. Each of its paragraphs is a title, lines that begin with "- " and say what the
 * stage is to be like, and commands after "$ ", each with the lines that it printed, errors after "! ", and its exit code but 0.
 */
export function itPrints(file: URL, stageOf: (given: readonly string[]) => Stage | Promise<Stage>): void {
  const told = [...paragraphsOf(file)].map(([title, lines]) => {
    const first = lines.findIndex((line) => line.startsWith('$ '));
    const given = lines.slice(0, first);
    const commands = lines.filter((line) => line.startsWith('$ '));
    const tell = async () => {
      const stage = await stageOf(given);
      const printed = [...given];
      try {
        for (const command of commands) printed.push(command, ...(await printedBy(command, stage)));
      } finally {
        stage.end?.();
      }
      return printed;
    };
    return [title, tell] as const;
  });
  itTells(file, Object.fromEntries(told));
}

async function printedBy(command: string, { run, named = {} }: Stage): Promise<readonly string[]> {
  const words = [...command.slice(2).matchAll(/'([^']*)'|\S+/g)].map(([word, quoted = word]) => quoted);
  const args = words.map((word) =>
    Object.entries(named).reduce(
      (text, [name, is]) => (typeof is === 'string' ? text.replaceAll(name, is) : text),
      word,
    ),
  );
  const { exitCode, stdout, stderr } = await run(args);
  const shown = (text: string) =>
    Object.entries(named).reduce((line, [name, is]) => line.replaceAll(is, name), text);
  const lines = (text: string) => (text === '' ? [] : shown(text).replace(/\n$/, '').split('\n'));
  return [
    ...lines(stdout),
    ...lines(stderr).map((line) => `! ${line}`.trimEnd()),
    ...(exitCode === 0 ? [] : [`exit code ${exitCode}`]),
  ];
}
