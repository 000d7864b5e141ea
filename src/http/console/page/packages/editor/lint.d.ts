export * from '@codemirror/lint';
