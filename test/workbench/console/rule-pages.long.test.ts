import { closeConsole } from './console-tab.ts';
// The pages for the work on rules, beside those of page.long.test.ts: neither file keeps the other processes waiting.
import './pages/draft.ts';
import './pages/draft-editor.ts';
import './pages/draft-names.ts';
import './pages/results.ts';
import './pages/rollout.ts';
import './pages/rules.ts';

after(closeConsole);
