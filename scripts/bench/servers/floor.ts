import { getSampleAnswer } from '../sample.ts';
import { serveVerdictRoute } from './json-server.ts';

/** The floor is the cheapest server in the comparison. It serves JSON over HTTP with a router, and keeps no state. */
await serveVerdictRoute(async () => getSampleAnswer());
