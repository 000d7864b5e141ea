import type { EndedProcess } from '../../processes/node-process.ts';
import { itTells, paragraphsOf } from '../../rule-fixtures/told.ts';

/** Where the commands of a paragraph run. */
export interface Stage {
  run(args: readonly string[]): Promise<EndedProcess>;
  /** What differs from run to run, by the name that stands for it in commands and in what they print. */
  readonly named?: Readonly<Record<string, string | RegExp>>;
  end?(): void;
}

/**
 * Tests that commands print what a file has kept. Each of its paragraphs is a title, lines that begin with "- " and say what the
 * stage is to be like, and commands after "$ ", each with the lines that it printed, errors after "! ", and its exit code but 0. Of
 * long texts `| head 5`, `| tail 1` and `| grep words` keep some lines. Digests of rule sets stand there as SHA256.
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
  const [whole = '', part] = command.slice(2).split(' | ');
  const words = [...whole.matchAll(/'[^']*'|"(?:\\.|[^"])*"|\S+/g)].map(([word]) => wordOf(word));
  const { exitCode, stdout, stderr } = await run(words.map((word) => withTexts(word, named)));
  const lines = (text: string) => (text === '' ? [] : withNames(text, named).replace(/\n$/, '').split('\n'));
  const printed = [...lines(stdout), ...lines(stderr).map((line) => `! ${line}`.trimEnd())];
  return [...partOf(printed, part), ...(exitCode === 0 ? [] : [`exit code ${exitCode}`])];
}

/** A word as it was meant, which may be in quotes, those of JSON with its escapes. */
function wordOf(text: string): string {
  if (text.startsWith("'")) return text.slice(1, -1);
  return text.startsWith('"') ? JSON.parse(text) : text;
}

function partOf(lines: readonly string[], part: string | undefined): readonly string[] {
  const [, kind, which = ''] = /^(head|tail|grep) (.*)$/.exec(part ?? '') ?? [];
  switch (kind) {
    case 'head':
      return lines.slice(0, Number(which));
    case 'tail':
      return lines.slice(-Number(which));
    case 'grep':
      return lines.filter((line) => line.includes(which));
    default:
      return lines;
  }
}

type Named = NonNullable<Stage['named']>;

function withTexts(word: string, named: Named): string {
  const texts = Object.entries(named).filter(([, is]) => typeof is === 'string');
  return texts.reduce((text, [name, is]) => text.replaceAll(name, String(is)), word);
}

function withNames(text: string, named: Named): string {
  const line = Object.entries(named).reduce((told, [name, is]) => told.replaceAll(is, name), text);
  return line.replaceAll(DIGEST, 'SHA256');
}

/** The digest of a rule set, which changes with every word of its files. */
const DIGEST = /(?<=sha256:|digest |"digest":")[0-9a-f]{12,64}\b/g;
