export { strToU8, zipSync } from 'fflate/browser';
