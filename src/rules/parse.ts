import type { Node } from 'yaml';
import { CLIENT_GROUPS, type ClientGroup } from '../client/client-group.ts';
import type { LadderSettings } from '../client/ladder.ts';
import type { Smoothing } from '../client/payment-score.ts';
import { formatDuration } from './duration.ts';
import { ConditionReader, FactRefs, factOfPlaceholder, type RuleStage } from './parse-condition.ts';
import { type Problem, sortProblems, suggest } from './problem.ts';
import {
  ANSWER_PLACEHOLDERS,
  type Condition,
  type GroupParams,
  isRuleVersion,
  type ParsedRules,
  type PlatformSettings,
  type ReasonPart,
  RULE_VERSION_FORM,
  type Rule,
  type RuleVersion,
  type SignalParams,
  VERDICTS,
  type VerdictParams,
} from './rule-set.ts';
import { type Member, type Members, YamlFile } from './yaml-file.ts';

/** The texts of a rule set's files by their path inside its folder, like `verdicts.yaml`, `cases/ladder.yaml`. */
export type RuleFiles = ReadonlyMap<string, string>;

export type ParseResult =
  | { readonly ok: true; readonly rules: ParsedRules }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const REQUIRED_FILES = [
  'ruleset.yaml',
  'groups.yaml',
  'bot-signals.yaml',
  'verdicts.yaml',
  'ladder.yaml',
] as const;
const RULE_FILES: readonly string[] = [...REQUIRED_FILES, 'limits.yaml'];

const MAX_RULES = 500;
const MAX_PRIORITY = 1_000_000;
const MAX_LADDER_LEVELS = 20;
const MAX_WEIGHT = 1000;

const NO_MEMBERS: Members = new Map();

/**
 * Reads a rule set: either all of it is sound, or every problem is told, each with its place.
 * `folder` is the name of the rule set's folder, which its ruleVersion must equal.
 */
export function parse(folder: string, files: RuleFiles): ParseResult {
  return new RuleSetReader(folder, files).read();
}

/** How the params of a rule's event are read; each kind of rule has its own. */
interface EventForm<Params> {
  readonly type: string;
  readonly members: readonly string[];
  readonly read: (params: Members, condition: Condition, node: Node) => Params | null;
}

/** What a rule has besides its conditions and event. */
interface RuleForm<Params> {
  readonly stage: RuleStage;
  readonly prioritised: boolean;
  readonly event: EventForm<Params>;
}

class RuleSetReader {
  readonly #folder: string;
  readonly #files: RuleFiles;
  readonly #problems: Problem[] = [];
  readonly #refs = new FactRefs();

  constructor(folder: string, files: RuleFiles) {
    this.#folder = folder;
    this.#files = files;
  }

  read(): ParseResult {
    this.#refuseUnknownFiles();
    const ladder = this.#ladderFile();
    const ruleSet = this.#ruleSetFile(ladder);
    const groups = this.#groupsFile();
    const signals = this.#signalsFile();
    const verdicts = this.#verdictsFile();
    const limits = this.#limitsFile(ruleSet?.wantsLimits === true);
    if (
      this.#problems.length > 0 ||
      ruleSet === null ||
      groups === null ||
      signals === null ||
      verdicts === null
    ) {
      return { ok: false, problems: sortProblems(this.#problems) };
    }
    const { version, description, settings, platforms } = ruleSet;
    const facts = this.#refs.all();
    return {
      ok: true,
      rules: { version, description, settings, platforms, facts, groups, signals, verdicts, limits },
    };
  }

  #refuseUnknownFiles(): void {
    for (const path of this.#files.keys()) {
      if (RULE_FILES.includes(path) || /^cases\/[^/]+\.yaml$/.test(path)) continue;
      const hint = suggest(path, RULE_FILES);
      this.#problems.push({
        at: { file: path, line: 1, column: 1 },
        message: `unknown file${hint}; tests go into cases/*.yaml`,
      });
    }
  }

  #open(name: string): YamlFile | null {
    const text = this.#files.get(name);
    if (text === undefined) {
      this.#problems.push({ at: { file: name, line: 1, column: 1 }, message: 'the file is missing' });
      return null;
    }
    return new YamlFile(name, text, this.#problems);
  }

  // ruleset.yaml

  #ruleSetFile(ladder: LadderSettings | null) {
    const file = this.#open('ruleset.yaml');
    if (file === null || file.root === null) return null;
    const required = ['ruleVersion', 'description', 'settings'];
    const members = file.members(file.root, 'the rule set', [...required, 'platforms'], required);
    if (members === null) return null;
    const version = this.#version(file, members.get('ruleVersion'));
    const description = optional(members.get('description'), (node) => file.text(node, 'description'));
    const base = optional(members.get('settings'), (node) => this.#settings(file, node, ladder));
    if (version === null || description === null || base === null) return null;
    const platforms = this.#platforms(file, members.get('platforms'), base);
    const wantsLimits = [base, ...platforms.values()].some(({ scoringLimits }) => scoringLimits);
    return { version, description, settings: base, platforms, wantsLimits };
  }

  #version(file: YamlFile, member: Member | undefined): RuleVersion | null {
    if (member === undefined) return null;
    const text = file.text(member.value, 'ruleVersion');
    if (text === null) return null;
    if (!isRuleVersion(text))
      return file.report(member.value, `ruleVersion must be ${RULE_VERSION_FORM}, not "${text}"`);
    if (text !== this.#folder) {
      return file.report(
        member.value,
        `ruleVersion "${text}" must equal the name of its folder, "${this.#folder}"`,
      );
    }
    return text;
  }

  #settings(file: YamlFile, node: Node, ladder: LadderSettings | null): PlatformSettings | null {
    const names = ['currency', 'smoothing', 'scoringLimits'];
    const members = file.members(node, 'settings', names, names);
    if (members === null) return null;
    const currency = optional(members.get('currency'), (value) => this.#currency(file, value));
    const smoothing = optional(members.get('smoothing'), (value) => this.#smoothing(file, value));
    const scoringLimits = optional(members.get('scoringLimits'), (value) =>
      file.boolean(value, 'scoringLimits'),
    );
    if (currency === null || smoothing === null || scoringLimits === null || ladder === null) return null;
    return { currency, smoothing, scoringLimits, ladder };
  }

  #platforms(
    file: YamlFile,
    member: Member | undefined,
    base: PlatformSettings,
  ): ReadonlyMap<string, PlatformSettings> {
    const platforms = new Map<string, PlatformSettings>();
    const members = member === undefined ? null : file.anyMembers(member.value, 'platforms');
    for (const [name, { value }] of members ?? NO_MEMBERS) {
      const settings = this.#platform(file, value, `platform "${name}"`, base);
      if (settings !== null) platforms.set(name, settings);
    }
    return platforms;
  }

  #platform(file: YamlFile, node: Node, what: string, base: PlatformSettings): PlatformSettings | null {
    const members = file.members(node, what, ['currency', 'smoothing', 'scoringLimits', 'ladder'], []);
    if (members === null) return null;
    const override = <T>(name: string, fallback: T, read: (value: Node) => T | null): T => {
      const member = members.get(name);
      return member === undefined ? fallback : (read(member.value) ?? fallback);
    };
    return {
      currency: override('currency', base.currency, (value) => this.#currency(file, value)),
      smoothing: override('smoothing', base.smoothing, (value) => this.#smoothing(file, value)),
      scoringLimits: override('scoringLimits', base.scoringLimits, (value) =>
        file.boolean(value, 'scoringLimits'),
      ),
      ladder: override('ladder', base.ladder, (value) => this.#ladder(file, value)),
    };
  }

  #currency(file: YamlFile, node: Node): string | null {
    const text = file.text(node, 'currency');
    if (text === null || /^[A-Z0-9]{3,4}$/.test(text)) return text;
    return file.report(node, `currency must be 3 or 4 capital letters or digits, like EUR, not "${text}"`);
  }

  #smoothing(file: YamlFile, node: Node): Smoothing | null {
    const members = file.members(node, 'smoothing', ['prior', 'weight'], ['prior', 'weight']);
    const prior = optional(members?.get('prior'), (value) => file.number(value, 'prior', { min: 0, max: 1 }));
    const weight = optional(members?.get('weight'), (value) =>
      file.number(value, 'weight', { min: 0.01, max: 1000 }),
    );
    if (prior === null || weight === null) return null;
    if (weight * (0.5 - prior) > 0.5) {
      return file.report(
        node,
        'a first paid order would lower the score of 0.5000 that every new client has; raise prior or lower weight until weight * (0.5 - prior) is at most 0.5',
      );
    }
    return { prior, weight };
  }

  // ladder.yaml

  #ladderFile(): LadderSettings | null {
    const file = this.#open('ladder.yaml');
    return file === null || file.root === null ? null : this.#ladder(file, file.root);
  }

  #ladder(file: YamlFile, node: Node): LadderSettings | null {
    const members = file.members(node, 'the ladder', ['levels', 'resetAfter'], ['levels', 'resetAfter']);
    const levels = members?.get('levels');
    const reset = members?.get('resetAfter');
    if (levels === undefined || reset === undefined) return null;
    const levelsMs = this.#levels(file, levels.value);
    const resetAfterMs = file.duration(reset.value, 'resetAfter');
    const longestMs = levelsMs?.at(-1);
    if (levelsMs === null || longestMs === undefined || resetAfterMs === null) return null;
    if (resetAfterMs <= longestMs) {
      return file.report(
        reset.value,
        `resetAfter must be longer than the longest wait, ${formatDuration(longestMs)}; otherwise leaving would be shorter than waiting`,
      );
    }
    return { levelsMs, resetAfterMs };
  }

  #levels(file: YamlFile, node: Node): readonly number[] | null {
    const items = file.items(node, 'levels');
    if (items === null) return null;
    if (items.length > MAX_LADDER_LEVELS)
      return file.report(node, `a ladder has at most ${MAX_LADDER_LEVELS} levels, not ${items.length}`);
    const levelsMs: number[] = [];
    for (const item of items) {
      const levelMs = file.duration(item, 'a level');
      if (levelMs === null) return null;
      const below = levelsMs.at(-1);
      if (below !== undefined && levelMs <= below) {
        return file.report(
          item,
          `level ${levelsMs.length + 1} (${formatDuration(levelMs)}) must be longer than level ${levelsMs.length} (${formatDuration(below)})`,
        );
      }
      levelsMs.push(levelMs);
    }
    return levelsMs;
  }

  // groups.yaml, bot-signals.yaml, verdicts.yaml

  #groupsFile() {
    const file = this.#open('groups.yaml');
    if (file === null || file.root === null) return null;
    const members = file.members(
      file.root,
      'groups.yaml',
      ['conditions', 'rules', 'otherwise'],
      ['rules', 'otherwise'],
    );
    if (members === null) return null;
    const rules = this.#rules<GroupParams>(file, members, {
      stage: 'groups',
      prioritised: true,
      event: {
        type: 'group',
        members: ['group'],
        read: (params) => {
          const group = optional(params.get('group'), (node) => file.choice(node, 'group', CLIENT_GROUPS));
          return group === null ? null : { group };
        },
      },
    });
    const otherwise = optional(members.get('otherwise'), (node) => file.choice(node, 'group', CLIENT_GROUPS));
    return otherwise === null ? null : { rules, otherwise };
  }

  #signalsFile() {
    const file = this.#open('bot-signals.yaml');
    if (file === null || file.root === null) return null;
    const members = file.members(
      file.root,
      'bot-signals.yaml',
      ['conditions', 'threshold', 'rules'],
      ['threshold', 'rules'],
    );
    if (members === null) return null;
    const rules = this.#rules<SignalParams>(file, members, {
      stage: 'bot-signals',
      prioritised: false,
      event: {
        type: 'signal',
        members: ['weight'],
        read: (params) => {
          const weight = optional(params.get('weight'), (node) =>
            file.number(node, 'weight', { min: 0.01, max: MAX_WEIGHT }),
          );
          return weight === null ? null : { weight };
        },
      },
    });
    const threshold = optional(members.get('threshold'), (node) =>
      file.number(node, 'threshold', { min: 0.01, max: MAX_WEIGHT }),
    );
    if (threshold === null) return null;
    const reachable = rules.reduce((sum, rule) => sum + rule.params.weight, 0);
    if (this.#problems.length === 0 && reachable < threshold) {
      return file.report(
        members.get('threshold')?.value ?? null,
        `all signals together weigh ${reachable}, which never reaches the threshold of ${threshold}`,
      );
    }
    return { rules, threshold };
  }

  #verdictsFile() {
    const file = this.#open('verdicts.yaml');
    if (file === null || file.root === null) return null;
    const members = file.members(
      file.root,
      'verdicts.yaml',
      ['conditions', 'rules', 'otherwise'],
      ['rules', 'otherwise'],
    );
    if (members === null) return null;
    const rules = this.#rules<VerdictParams>(file, members, {
      stage: 'verdicts',
      prioritised: true,
      event: {
        type: 'verdict',
        members: ['verdict', 'reason'],
        read: (params, condition, node) => this.#verdict(file, params, condition, node),
      },
    });
    const otherwise = optional(members.get('otherwise'), (node) => {
      const params = file.members(node, 'otherwise', ['verdict', 'reason'], ['verdict', 'reason']);
      return params === null ? null : this.#verdict(file, params, null, node);
    });
    return otherwise === null ? null : { rules, otherwise };
  }

  #verdict(file: YamlFile, params: Members, condition: Condition | null, node: Node): VerdictParams | null {
    const verdict = optional(params.get('verdict'), (value) => file.choice(value, 'verdict', VERDICTS));
    const reason = optional(params.get('reason'), (value) => this.#reason(file, value));
    if (verdict === null || reason === null) return null;
    if (verdict === 'GET_SAME_STICKY' && (condition === null || !demandsBinding(condition))) {
      return file.report(
        node,
        'GET_SAME_STICKY needs a bound requisite: add { fact: bindingFitsMethod, operator: equal, value: true } to the "all" of the rule',
      );
    }
    return { verdict, reason };
  }

  #reason(file: YamlFile, node: Node): readonly ReasonPart[] | null {
    const text = file.text(node, 'reason');
    if (text === null) return null;
    const parts: ReasonPart[] = [];
    for (const piece of text.split(/(\{[^{}]*\})/)) {
      if (piece === '') continue;
      const part =
        piece.startsWith('{') && piece.endsWith('}')
          ? this.#placeholder(file, node, piece.slice(1, -1))
          : words(piece);
      if (part !== null) parts.push(part);
    }
    return parts;
  }

  #placeholder(file: YamlFile, node: Node, name: string): ReasonPart | null {
    const answer = ANSWER_PLACEHOLDERS.find((candidate) => candidate === name);
    if (answer !== undefined) return { kind: 'answer', name: answer };
    const fact = factOfPlaceholder(name, this.#refs);
    if (typeof fact !== 'string') return { kind: 'fact', fact };
    const allowed = [...this.#refs.all().map((ref) => ref.label), ...ANSWER_PLACEHOLDERS];
    const hint = fact.startsWith('unknown') ? suggest(name, allowed) : '';
    return file.report(node, `reason has a bad placeholder {${name}}: ${fact}${hint}`);
  }

  #rules<Params>(file: YamlFile, members: Members, form: RuleForm<Params>): readonly Rule<Params>[] {
    const named =
      optional(members.get('conditions'), (node) => file.anyMembers(node, '"conditions"')) ?? NO_MEMBERS;
    const reader = new ConditionReader(file, form.stage, this.#refs, named);
    const nodes = optional(members.get('rules'), (node) => file.items(node, '"rules"')) ?? [];
    if (nodes.length > MAX_RULES)
      file.report(nodes[MAX_RULES] ?? null, `a file holds at most ${MAX_RULES} rules`);
    const rules = nodes.slice(0, MAX_RULES).map((node) => this.#rule(file, node, reader, form));
    const sound = rules.filter((rule) => rule !== null);
    this.#refuseTwins(sound, form.prioritised);
    return form.prioritised ? sound.toSorted((a, b) => b.priority - a.priority) : sound;
  }

  #rule<Params>(
    file: YamlFile,
    node: Node,
    reader: ConditionReader,
    form: RuleForm<Params>,
  ): Rule<Params> | null {
    const required = ['name', ...(form.prioritised ? ['priority'] : []), 'conditions', 'event'];
    const members = file.members(node, 'a rule', [...required, 'description'], required);
    if (members === null) return null;
    const name = optional(members.get('name'), (value) => this.#ruleName(file, value));
    const description = members.has('description')
      ? optional(members.get('description'), (value) => file.text(value, 'description'))
      : '';
    const priority = form.prioritised
      ? optional(members.get('priority'), (value) =>
          file.number(value, 'priority', { min: 1, max: MAX_PRIORITY, integer: true }),
        )
      : 1;
    const condition = optional(members.get('conditions'), (value) => reader.topLevel(value));
    const event = members.get('event');
    const params =
      event === undefined || condition === null
        ? null
        : this.#event(file, event.value, condition, form.event);
    if (name === null || description === null || priority === null || condition === null || params === null)
      return null;
    return { name, description, priority, condition, params, at: file.at(node) };
  }

  #ruleName(file: YamlFile, node: Node): string | null {
    const name = file.text(node, 'name');
    if (name === null) return null;
    if (name === 'otherwise')
      return file.report(node, '"otherwise" is the name of the answer when no rule matches');
    if (/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name) && name.length <= 64) return name;
    return file.report(
      node,
      `name must be lower-case words joined by "-", at most 64 characters, like asked-too-early, not "${name}"`,
    );
  }

  #event<Params>(file: YamlFile, node: Node, condition: Condition, form: EventForm<Params>): Params | null {
    const members = file.members(node, 'event', ['type', 'params'], ['type', 'params']);
    const type = optional(members?.get('type'), (value) => file.choice(value, 'event type', [form.type]));
    const params = optional(members?.get('params'), (value) =>
      file.members(value, 'params', form.members, form.members),
    );
    return type === null || params === null ? null : form.read(params, condition, node);
  }

  #refuseTwins<Params>(rules: readonly Rule<Params>[], prioritised: boolean): void {
    const names = new Map<string, Rule<Params>>();
    const priorities = new Map<number, Rule<Params>>();
    for (const rule of rules) {
      const namesake = names.get(rule.name);
      if (namesake !== undefined) {
        this.#problems.push({
          at: rule.at,
          message: `the name "${rule.name}" is taken by the rule in line ${namesake.at.line}`,
        });
      }
      names.set(rule.name, rule);
      const equal = priorities.get(rule.priority);
      if (prioritised && equal !== undefined) {
        this.#problems.push({
          at: rule.at,
          message: `"${rule.name}" and "${equal.name}" (line ${equal.at.line}) both have priority ${rule.priority}; give each its own, so that it is clear which one is first`,
        });
      }
      priorities.set(rule.priority, rule);
    }
  }

  // limits.yaml

  #limitsFile(wanted: boolean): ReadonlyMap<ClientGroup, readonly string[]> {
    const limits = new Map<ClientGroup, readonly string[]>();
    if (!wanted && !this.#files.has('limits.yaml')) return limits;
    const file = this.#open('limits.yaml');
    if (file === null || file.root === null) return limits;
    const node = file.members(file.root, 'limits.yaml', ['limits'], ['limits'])?.get('limits')?.value;
    const members = node === undefined ? null : file.members(node, '"limits"', CLIENT_GROUPS, CLIENT_GROUPS);
    for (const group of CLIENT_GROUPS) {
      const amounts = optional(members?.get(group), (value) => this.#limitAmounts(file, value, group));
      if (amounts !== null) limits.set(group, amounts);
    }
    return limits;
  }

  #limitAmounts(file: YamlFile, node: Node, group: ClientGroup): readonly string[] | null {
    const amounts = file.anyMembers(node, `limits of ${group}`);
    if (amounts === null) return null;
    const items: string[] = [];
    for (const [currency, { key, value }] of amounts) {
      const amount = file.text(value, `the limit in ${currency}`);
      if (!/^[A-Z0-9]{3,4}$/.test(currency)) {
        file.report(key, `currency must be 3 or 4 capital letters or digits, like EUR, not "${currency}"`);
      } else if (amount !== null && !/^\d{1,20}(\.\d{1,10})?$/.test(amount)) {
        file.report(value, `the limit in ${currency} must be a decimal text, like "250.00", not "${amount}"`);
      } else if (amount !== null) {
        items.push(`${currency}:${amount}`);
      }
    }
    return items;
  }
}

function optional<T>(member: Member | undefined, read: (node: Node) => T | null): T | null {
  return member === undefined ? null : read(member.value);
}

function words(text: string): ReasonPart {
  return { kind: 'words', words: text };
}

/** Whether a condition can only hold for a client with a live binding. */
function demandsBinding(condition: Condition): boolean {
  switch (condition.kind) {
    case 'all':
      return condition.conditions.some(demandsBinding);
    case 'any':
      return condition.conditions.every(demandsBinding);
    case 'reference':
      return demandsBinding(condition.condition);
    case 'comparison': {
      const { fact, operator, value } = condition;
      const asksForBinding = fact.name === 'hasBinding' || fact.name === 'bindingFitsMethod';
      return asksForBinding && operator === 'equal' && value === true;
    }
    case 'not':
      return false;
    default:
      return condition satisfies never;
  }
}
