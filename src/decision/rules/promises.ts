/** The promises that the interface and the guide make about every rule set. Each promise is named after its breach. */
export const PROMISE_BREACHES = [
  'firstRequestWaits',
  'botPasses',
  'blockedPasses',
  'trustedIsFlagged',
  'trustedIsRefused',
  'earlyRequestIsGranted',
  'firstLevelIsShort',
] as const;

export type PromiseBreach = (typeof PROMISE_BREACHES)[number];

/** The description of each member of `meant` in ruleset.yaml. */
export const BREACH_DESCRIPTIONS: Readonly<Record<PromiseBreach, string>> = {
  firstRequestWaits:
    'Why a first request may get WAIT, although the interface (section 3.2) has no wait before it.',
  botPasses: 'Why a payer who is flagged as a bot may get another answer than BLOCK.',
  blockedPasses: 'Why a payer in the group BLOCKED may get another answer than BLOCK.',
  trustedIsFlagged: 'Why a payer whom a person trusts may be flagged as a bot.',
  trustedIsRefused: 'Why a payer whom a person trusts may get BLOCK.',
  earlyRequestIsGranted:
    'Why a payer who asks before a wait is over may be shown a requisite, although the interface (section 3.2) has the next level of the ladder.',
  firstLevelIsShort:
    'Why level 1 of a ladder is shorter than 10s, although the interface (section 3.2) has tens of seconds.',
};

/** The promises that a rule set breaks on purpose, each with the reason. */
export type MeantBreaches = Readonly<Partial<Record<PromiseBreach, string | undefined>>>;
