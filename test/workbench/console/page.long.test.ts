import { closeConsole } from './console-tab.ts';
// Together in one file for the runner, so that these share one console and one browser.
import './pages/approvals.ts';
import './pages/find-box.ts';
import './pages/find.ts';
import './pages/palette.ts';
import './pages/payer.ts';
import './pages/foreign-text.ts';
import './pages/lists.ts';
import './pages/platforms.ts';
import './pages/provider.ts';
import './pages/settings.ts';
import './pages/sign-in.ts';
import './pages/today.ts';
// Many clients of which other suites know nothing.
import './pages/payer-links.ts';

after(closeConsole);
