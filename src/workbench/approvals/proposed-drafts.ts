import type { PlatformName } from '#decision/payer/client-key.ts';
import type { RuleVersion } from '#decision/rules/rule-set.ts';
import type { DraftWithOrigin } from '#workbench/authoring/desk/begun-draft.ts';
import type { ReleasableFilesResult } from '#workbench/authoring/desk/desk-thread.ts';
import { formatObstacle, type RuleDesk } from '#workbench/authoring/desk/rule-desk.ts';
import type { Drafts, OpenedDraft } from '#workbench/authoring/drafts.ts';
import { type DraftRevisionRef, ProposalRefused } from './proposals.ts';

/**
 * Moves proposed drafts of platforms into RULES_DIR. The methods throw `ProposalRefused` if the draft was changed
 * after it was proposed.
 */
export class ProposedDrafts {
  readonly #drafts: Drafts;
  readonly #desk: () => RuleDesk;

  /** `desk` throws if there are no rule sets to change. */
  constructor(drafts: Drafts, desk: () => RuleDesk) {
    this.#drafts = drafts;
    this.#desk = desk;
  }

  async open(version: RuleVersion, { platform, revision }: DraftRevisionRef): Promise<OpenedDraft> {
    const opened = await this.#drafts.open(platform, version);
    if (opened?.draft.revision === revision) return opened;
    throw new ProposalRefused(
      `the draft ${version} of ${platform} was changed or discarded since; let it be proposed again`,
    );
  }

  async openAsBegun(version: RuleVersion, place: DraftRevisionRef): Promise<DraftWithOrigin> {
    const { draft, files } = await this.open(version, place);
    return { version, from: draft.from, files: Object.entries(files) };
  }

  /**
   * Returns the files that would be released: the draft, and the parts of other platforms. The work runs in the queue
   * of `asker`.
   */
  async complete(
    asker: PlatformName,
    version: RuleVersion,
    place: DraftRevisionRef,
  ): Promise<Extract<ReleasableFilesResult, { readonly ok: true }>> {
    const completed = await this.#desk().complete(
      asker,
      await this.openAsBegun(version, place),
      place.platform,
    );
    if (completed.ok) return completed;
    throw new ProposalRefused(formatObstacle(version, { is: 'findings', problems: completed.problems }));
  }

  /**
   * Puts a draft into RULES_DIR and replaces the folder there. The work runs in the queue of `maker`, who releases
   * the draft.
   */
  async putIntoRulesDir(maker: PlatformName, version: RuleVersion, place: DraftRevisionRef): Promise<void> {
    const { files } = await this.complete(maker, version, place);
    const lies = await this.#desk().open(maker, version);
    const replaces = lies?.filesDigest ?? null;
    const saved = await this.#desk().save(maker, { version, files, replaces });
    if (!saved.ok)
      throw new ProposalRefused(formatObstacle(version, { is: 'findings', problems: saved.problems }));
  }

  /** Discards a released draft. A draft that was changed since has another revision, and stays. */
  async discard(version: RuleVersion, { platform, revision }: DraftRevisionRef): Promise<void> {
    await this.#drafts.discard(platform, version, revision).catch(() => {});
  }
}
