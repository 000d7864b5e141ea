import { Presets, SingleBar } from 'cli-progress';

/** Shows the progress of a replay on stderr, if that is a terminal. */
export interface Progress {
  show(done: number, total: number): void;
  /** Leaves the terminal as it was. */
  end(): void;
}

export function progressOn(stream: NodeJS.WriteStream): Progress {
  if (!stream.isTTY) return { show: () => {}, end: () => {} };
  const bar = new SingleBar(
    {
      stream,
      clearOnComplete: true,
      hideCursor: true,
      format: '{bar} {value} of {total}, {eta_formatted} left',
    },
    Presets.legacy,
  );
  let started = false;
  return {
    show: (done, total) => {
      if (started) bar.update(done);
      else bar.start(total, done);
      started = true;
    },
    end: () => bar.stop(),
  };
}
