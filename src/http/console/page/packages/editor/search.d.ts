export * from '@codemirror/search';
