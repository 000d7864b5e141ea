import type { RuleDesk } from '../../../analysis/desk/rule-desk.ts';
import type { PlatformName } from '../../../client/client-key.ts';
import type { NamedRuleSet } from '../../../evidence/desk/evidence-task.ts';
import { Type } from '../../../json-schema.ts';
import type { DraftText } from '../../../rules/folder/draft.ts';
import { DRAFT_FILES, draftText, draftUnsound } from '../rules/drafts/draft-body.ts';
import { versionText, withinLimits } from '../rules/rule-version.ts';

/** The members of a body that asks about a version as it lies on this node, or about a draft that lies nowhere. */
export const TRIED_MEMBERS = {
  version: versionText('A rule set, draft or released, like p2.v11'),
  files: Type.Optional({
    ...DRAFT_FILES,
    description:
      'Absent: as it lies in RULES_DIR. The texts of a draft that lies nowhere, by path: they are checked, and kept in the memory of this node for as long as the work takes',
  }),
} as const;

export interface TriedBody {
  readonly version?: string;
  readonly files?: Readonly<Record<string, string>>;
}

/** A draft that came along, and the name by which a task knows it. */
interface BroughtDraft {
  readonly rules: NamedRuleSet;
  readonly draft: DraftText;
}

/** The draft that a body brings along; null when it brings none. One that is not sound is answered with 422. */
export async function broughtDraft(
  { version, files }: TriedBody,
  desk: RuleDesk,
  owner: PlatformName,
): Promise<BroughtDraft | null> {
  if (version === undefined || files === undefined) return null;
  const draft = draftText({ version, files });
  const { digest, problems } = await withinLimits(() => desk.check(owner, draft, null));
  if (digest === null) throw draftUnsound(draft.version, 'tried', problems);
  return { rules: { ruleVersion: draft.version, digest }, draft };
}
