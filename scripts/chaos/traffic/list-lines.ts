import type { ServiceNode } from '../processes/service-node.ts';

/** A line of a bulk change. */
export type ImportLine =
  | { readonly value: string; readonly reason: string }
  | { readonly value: string; readonly remove: true };

/** What to do once this many lines were answered. */
export interface Interruption {
  readonly lines: number;
  readonly interrupt: () => Promise<void>;
}

/** Sends a bulk change, and gives the values that were answered as done until its end or interruption. */
export async function importLines(
  { platformUrl, key }: ServiceNode,
  list: string,
  lines: readonly object[],
  interruption?: Interruption,
): Promise<readonly string[]> {
  const done: string[] = [];
  try {
    const answer = await fetch(`${platformUrl}/v1/platform/lists/${list}/entries`, {
      method: 'POST',
      headers: { 'X-KA-Access-Key': key, 'Content-Type': 'application/x-ndjson' },
      body: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    });
    if (!answer.ok) throw new Error(`the lines are refused: ${await answer.text()}`);
    for await (const line of linesOf(answer)) {
      const { value, result }: { value: string; result?: string } = JSON.parse(line);
      if (result !== undefined) done.push(value);
      if (done.length === interruption?.lines) await interruption.interrupt();
    }
  } catch (error) {
    // A killed node breaks off; what it answered before was read.
    if (interruption === undefined || done.length < interruption.lines) throw error;
  }
  return done;
}

async function* linesOf(answer: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of answer.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

/** All values of a list as a node has them; empty where there is no such list. */
export async function listedValues({ shop }: ServiceNode, list: string): Promise<ReadonlySet<string>> {
  const values = new Set<string>();
  for (let after = ''; ; ) {
    const { body } = await shop.ask<{
      readonly entries?: readonly { readonly value: string }[];
      readonly next?: string | null;
    }>('GET', `lists/${list}/entries?limit=500${after}`);
    for (const { value } of body.entries ?? []) values.add(value);
    if (body.next === undefined || body.next === null) return values;
    after = `&after=${body.next}`;
  }
}
