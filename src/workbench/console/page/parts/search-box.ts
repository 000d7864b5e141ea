import { type Html, html, useEffect, useRef, useState } from '#workbench/console/page/html.ts';
import type { Session } from '#workbench/console/page/questions.ts';
import { onTyped } from './form.ts';
import { useMediaTest } from './media.ts';
import { renderSafeName } from './name.ts';
import { type Choice, type ChoiceGroup, useSearch } from './search-results.ts';

/** A screen that is as narrow as that of a phone, as in the style sheet. */
const PHONE = '(max-width: 600px)';

interface SearchBoxProps {
  readonly session: Session;
  /** The beginning of the ids of its elements, so that two boxes may stand on one page. */
  readonly id: string;
  readonly label: string;
  /** The label in fewer words, for a field on a phone. */
  readonly shortLabel?: string;
  readonly hasFocus: boolean;
  /** Returns commands that can be chosen besides the found things. */
  readonly commands?: (text: string) => readonly ChoiceGroup[];
  readonly choose: (choice: Choice) => void;
}

/**
 * Shows a field with the found things below it, which change while somebody types. Up and down choose, and
 * Enter opens. If Enter is pressed before anything is found, it opens the first thing that will be found.
 * Escape empties the field.
 */
export function SearchBox(props: SearchBoxProps) {
  const { session, id, label, shortLabel = label, hasFocus, commands = () => [], choose } = props;
  const isNarrow = useMediaTest(PHONE);
  const box = useRef<HTMLInputElement | null>(null);
  const list = useRef<HTMLElement | null>(null);
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const [isEntered, setEntered] = useState(false);
  const text = typed.trim();
  const search = useSearch(session, text);
  const own = commands(text);
  const groups = [...own, ...search.groups];
  const choices = groups.flatMap((group) => group.choices);
  const place = Math.min(chosen, choices.length - 1);
  const current = choices[place];
  const isCommand = own.some((group) => group.choices.some((choice) => choice === current));
  useEffect(() => {
    if (hasFocus) box.current?.focus();
  }, []);
  useEffect(() => {
    if (!isEntered || current === undefined || (search.isUnderWay && !isCommand)) return;
    setEntered(false);
    choose(current);
  }, [isEntered, current, search.isUnderWay]);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [place]);
  const type = onTyped((next) => {
    setTyped(next);
    setChosen(0);
    setEntered(false);
  });
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Enter') setEntered(true);
    if (event.key === 'Escape') setTyped('');
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0 || choices.length === 0) return;
    event.preventDefault();
    setChosen((place + step + choices.length) % choices.length);
  };
  const isOpen = choices.length > 0;
  const listId = `${id}-choices`;
  const active = isOpen ? `${id}-${place}` : undefined;
  const combobox = {
    ...{ role: 'combobox', 'aria-label': label, 'aria-controls': listId, 'aria-autocomplete': 'list' },
    ...{ 'aria-expanded': isOpen ? 'true' : 'false', 'aria-activedescendant': active },
    ...{
      placeholder: isNarrow ? shortLabel : label,
      maxlength: 256,
      autocomplete: 'off',
      autocapitalize: 'off',
      spellcheck: false,
    },
  };
  const renderOne = (choice: Choice) => {
    const at = choices.indexOf(choice);
    const option = `${id}-${at}`;
    const isActive = option === active;
    return renderChoice(choice, { text, option, isActive, choose, point: () => isActive || setChosen(at) });
  };
  return html`<div class="find" role="search">
    <input ref=${box} ...${combobox} value=${typed} onInput=${type} onKeyDown=${press} />
    <div id=${listId} ref=${list} role="listbox" aria-label="What was found" hidden=${!isOpen}>
      ${groups.map((group) => renderGroup(group, renderOne))}
    </div>
    <p class=${search.isRefused ? 'bad' : 'faint'} role="status">${search.words}</p>
  </div>`;
}

function renderGroup({ title, choices, more }: ChoiceGroup, renderOne: (choice: Choice) => Html) {
  return html`<div role="group" aria-label=${title}>
    <div class="find-kind" aria-hidden="true">${title}${more && html`<span>more than these</span>`}</div>
    ${choices.map(renderOne)}
  </div>`;
}

interface Shown {
  readonly text: string;
  readonly option: string;
  readonly isActive: boolean;
  readonly choose: (choice: Choice) => void;
  /** Is called when the pointer moves on the choice. */
  readonly point: () => void;
}

function renderChoice(choice: Choice, { text, option, isActive, choose, point }: Shown) {
  // The field keeps the focus, and with it the keys.
  const keepFocus = (event: Event) => event.preventDefault();
  return html`<div role="option" id=${option} aria-selected=${isActive ? 'true' : 'false'}
    onMouseMove=${point} onMouseDown=${keepFocus} onClick=${() => choose(choice)}>
    <span>${renderSafeName(choice.name, text)}</span> <span class="faint">${choice.about}</span>
  </div>`;
}
