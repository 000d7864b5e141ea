export * from '@lezer/highlight';
