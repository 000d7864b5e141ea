/** A bar on standard error, only where a person watches; the package is loaded only then. */
export async function progressBar() {
  if (!process.stderr.isTTY) return { show: () => {}, stop: () => {} };
  const { SingleBar } = await import('cli-progress');
  const bar = new SingleBar({
    stream: process.stderr,
    format: '{bar} {percentage} %, {eta_formatted} left',
    clearOnComplete: true,
    hideCursor: true,
  });
  bar.start(1, 0);
  return {
    show: (done: number, of: number) => {
      bar.setTotal(Math.max(of, done));
      bar.update(done);
    },
    stop: () => bar.stop(),
  };
}
