export * from '@codemirror/commands';
