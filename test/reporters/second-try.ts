import { relative } from 'node:path';
import Mocha from 'mocha';

const { EVENT_RUN_END, EVENT_TEST_PASS, EVENT_TEST_RETRY } = Mocha.Runner.constants;

/** A test that failed and was tried again, and what it failed with. */
interface FailedTry {
  readonly name: string;
  readonly message: string;
}

/** Mocha's own list of tests and failures, and after it each test that passed only when it was tried again. */
export default class SecondTryReporter extends Mocha.reporters.Spec {
  readonly #failed = new Map<string, FailedTry>();
  readonly #unsteady: FailedTry[] = [];

  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    runner.on(EVENT_TEST_RETRY, (test, error) => {
      this.#failed.set(nameOf(test), { name: nameOf(test), message: String(error?.message) });
    });
    runner.on(EVENT_TEST_PASS, (test) => {
      const failed = this.#failed.get(nameOf(test));
      if (failed !== undefined) this.#unsteady.push(failed);
    });
    runner.on(EVENT_RUN_END, () => this.#tell());
  }

  #tell(): void {
    if (this.#unsteady.length === 0) return;
    console.log('Unsteady: passed only at the second try');
    for (const { name, message } of this.#unsteady) {
      const [reason] = message.split('\n');
      console.log(`  - ${name}\n      first try: ${reason}`);
    }
    console.log();
  }
}

function nameOf(test: Mocha.Test): string {
  return `${test.fullTitle()} (${relative(process.cwd(), test.file ?? '')})`;
}
