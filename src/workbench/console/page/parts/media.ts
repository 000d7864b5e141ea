import { useEffect, useState } from '#workbench/console/page/html.ts';

/** Whether the screen or the browser is as a media query says, now and after it has changed. */
export function useMediaTest(query: string) {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const look = () => setMatches(media.matches);
    look();
    media.addEventListener('change', look);
    return () => media.removeEventListener('change', look);
  }, [query]);
  return matches;
}
