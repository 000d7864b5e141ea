import { sampleAnswer } from '../sample.ts';
import { serveJson } from './json-server.ts';

/** The floor serves HTTP, router and JSON, and keeps no state. */
await serveJson(async () => sampleAnswer());
