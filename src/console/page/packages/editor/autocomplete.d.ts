export * from '@codemirror/autocomplete';
