export * from '@codemirror/language';
