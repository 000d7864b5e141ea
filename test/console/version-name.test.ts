import { expect } from 'chai';
import { VERSION_NAME } from '../../src/console/page/parts/format.ts';
import { RULE_VERSION_PATTERN } from '../../src/rules/rule-set.ts';

describe("the console's field for the name of a version", () => {
  it('takes what the service takes', () => {
    expect(`^${VERSION_NAME}$`).to.equal(RULE_VERSION_PATTERN);
  });
});
