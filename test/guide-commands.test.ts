import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { scoring } from './workbench/commands/scoring.ts';

const ROOT = join(import.meta.dirname, '..');
const GUIDES = globSync(['*.md', 'packaging/alerts.yaml', '{packaging,rules,scripts,src,test}/**/*.md'], {
  cwd: ROOT,
});

/** Looks like a command, and is a line of the log. */
const LOGGED = 'decisions are not shipped';

/** Commands of a guide, as words: lines of a shell, and what begins like one in backticks. */
function commandsIn(text: string, groups: readonly string[]): readonly (readonly string[])[] {
  const lines = [...text.matchAll(/^[^`\n]*npm run -s scoring -- ([^|)#>\n]*)/gm)];
  const quoted = [...text.matchAll(/`(?:npm run -s scoring -- |(?:bin\/)?scoring )?([^`\n]+)`/g)];
  return [...lines, ...quoted]
    .map(([, command = '']) => command)
    .filter((command) => !command.startsWith(LOGGED))
    .map((command) => command.trim().split(/\s+/))
    .filter(([group = '']) => groups.includes(group));
}

const helps = new Map<string, Promise<string | null>>();

/** The help of a command; null when there is no such command. */
function helpOf(path: string): Promise<string | null> {
  const asked = helps.get(path) ?? ask(path);
  helps.set(path, asked);
  return asked;
}

async function ask(path: string): Promise<string | null> {
  const { stdout } = await scoring([...path.split(' '), '--help'], {});
  return stdout.startsWith(`Usage: scoring ${path} `) ? stdout : null;
}

/** Whether there is such a command, with each option that it is given. */
async function isThere(words: readonly string[]): Promise<boolean> {
  const [group = '', second = ''] = words;
  const isGroup = (await helpOf(group))?.includes('\nCommands:\n') === true;
  const help = await helpOf(isGroup && /^[a-z]/.test(second) ? `${group} ${second}` : group);
  const options = words.filter((word) => /^--[a-z-]+$/.test(word));
  return help !== null && options.every((option) => help.includes(`${option} `));
}

describe('commands in the guides', () => {
  it('exist with their options', async () => {
    const { stdout } = await scoring(['--help'], {});
    const groups = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, group = '']) => group);
    const commands = GUIDES.flatMap((guide) =>
      commandsIn(readFileSync(join(ROOT, guide), 'utf8'), groups).map((words) => ({ guide, words })),
    );
    expect(commands.length).to.be.above(100);
    const strangers: string[] = [];
    for (const { guide, words } of commands)
      if (!(await isThere(words))) strangers.push(`${guide}: ${words.join(' ')}`);
    expect(strangers).to.deep.equal([]);
  });
});
