import { may, useAnswer } from '../../api.js';
import { html } from '../../html.js';
import { Field, formValues } from '../../parts/form.js';
import { LatelySeen } from '../../parts/lately-seen.js';
import { Answered, Empty } from '../../parts/notice.js';
import { client, RULE_FOLDERS } from '../../questions.js';
import { Question } from './question.js';

/**
 * @import { RuleFolderList } from '../../answers.d.ts'
 * @import { PageProps } from '../../page-props.d.ts'
 * @import { FormEvent } from '../../parts/form.js'
 */

/**
 * What two versions would answer to a client now. Nothing is written.
 * @param {PageProps} props
 */
export function WhatIfPage({ place, session }) {
  const start = (/** @type {FormEvent} */ event) => {
    location.hash = `#/what-if/${encodeURIComponent(formValues(event)['clientIdKey'] ?? '')}`;
  };
  return html`<form class="filters" key=${place.item} onSubmit=${start}>
      <${Field} label="clientIdKey">
        <input name="clientIdKey" required maxlength="256" defaultValue=${place.item} />
      <//>
      <div class="buttons"><button type="submit" class="button-accent">Start from this client</button></div>
    </form>
    <p class="faint">
      The same core decides as for callers. Nothing is written, and the client's counters stay as they are. A
      name that nobody knows is answered as a first request.
    </p>
    ${place.item !== '' && html`<${Client} key=${place.item} clientIdKey=${place.item} />`}
    ${place.item === '' && may(session, 'decisions') && html`<${LatelySeen} page="what-if" />`}`;
}

/** @param {{ clientIdKey: string }} props */
function Client({ clientIdKey }) {
  const folders = useAnswer(RULE_FOLDERS);
  const known = useAnswer(client(clientIdKey));
  const isUnknown = known.error?.status === 404;
  const asked = (/** @type {RuleFolderList} */ { versions }) => {
    const sound = versions.filter((one) => one.sound).map(({ version }) => version);
    if (sound.length === 0)
      return html`<${Empty} title="No sound version">
        The page Rules shows what is wrong with those on this node.
      <//>`;
    if (known.data === null && !isUnknown) return html`<${Answered} answer=${known}>${() => null}<//>`;
    return html`<${Question} clientIdKey=${clientIdKey} view=${known.data} versions=${sound} />`;
  };
  return html`<${Answered} answer=${folders}>${asked}<//>`;
}
