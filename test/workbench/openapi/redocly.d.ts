/** What the test of the documents uses: the package's own declarations take half of the compiler's time. */
export interface Config {
  readonly resolvedConfig: object;
}

export interface Finding {
  readonly ruleId: string;
  readonly severity: string;
  readonly message: string;
  readonly location: readonly { readonly pointer?: string }[];
}

export declare function createConfig(settings: { readonly extends: readonly string[] }): Promise<Config>;
export declare function lintFromString(document: {
  readonly source: string;
  readonly absoluteRef: string;
  readonly config: Config;
}): Promise<readonly Finding[]>;
