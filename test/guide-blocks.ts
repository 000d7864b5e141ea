/** One block of code in a guide, with its documented output. */
export interface Block {
  readonly language: string;
  readonly text: string;
  /** The block that follows directly, when it shows output: `json` is all of it, `text` some of its lines. */
  readonly prints: string | null;
}

/** Languages of blocks that show output. */
const OUTPUTS = ['json', 'text'];

export function blocksOf(guide: string): readonly Block[] {
  const found = [...guide.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
    ([all, language = '', text = '']) => ({ all, language, text }),
  );
  return found.map(({ all, language, text }, at) => {
    const next = found[at + 1];
    const shown =
      next !== undefined && OUTPUTS.includes(next.language) && guide.includes(`${all}\n${next.all}`);
    return { language, text, prints: shown ? next.text.trimEnd() : null };
  });
}

/** The part of a guide from one heading to the next of its level. */
export function section(guide: string, heading: string): string {
  const start = guide.indexOf(`\n## ${heading}\n`);
  const end = guide.indexOf('\n## ', start + 1);
  if (start === -1) throw new Error(`the guide has no section "${heading}"`);
  return guide.slice(start, end === -1 ? guide.length : end);
}
