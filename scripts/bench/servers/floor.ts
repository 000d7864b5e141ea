import { sampleAnswer } from '../sample.ts';
import { serveJson } from './json-server.ts';

/** The floor: HTTP, router and JSON, and no state at all. */
await serveJson(async () => sampleAnswer());
