import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import { scoring } from './scoring.ts';

/** What bash offers after some words, of which the last is begun. */
function offered(script: string, ...words: readonly string[]): readonly string[] {
  const given = words.map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(scoring ${given}); COMP_CWORD=${words.length}; _scoring; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', `${script}\n${ask}`], { encoding: 'utf8' })
    .trim()
    .split('\n');
}

describe('completion', () => {
  let script: string;
  before(async () => {
    script = (await scoring(['completion', 'bash'], {})).stdout;
  });

  it('offers the commands, those below one, and the options', () => {
    expect(offered(script, 'li')).to.deep.equal(['links', 'lists']);
    expect(offered(script, 'keys', '')).to.deep.equal(['issue', 'list', 'revoke', '--help']);
    expect(offered(script, 'lists', 'add', '--r')).to.deep.equal(['--reason']);
    expect(offered(script, 'links', 'ann', '--d')).to.deep.equal(['--days', '--depth']);
    expect(offered(script, 'audit', '--f')).to.deep.equal(['--follow']);
  });

  it('lets zsh run what bash does, and names the shells that it knows', async () => {
    const { stdout } = await scoring(['completion', 'zsh'], {});
    expect(stdout).to.equal(`autoload -U +X bashcompinit && bashcompinit\n${script}`);
    const { exitCode, stderr } = await scoring(['completion', 'fish'], {});
    expect([exitCode, stderr.split('\n')[0]]).to.deep.equal([
      2,
      "error: command-argument value 'fish' is invalid for argument 'shell'. Allowed choices are bash, zsh.",
    ]);
  });
});
