export * from '@lezer/common';
