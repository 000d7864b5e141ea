export * from '@codemirror/lang-yaml';
