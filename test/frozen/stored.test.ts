import { expect } from 'chai';
import { describeWithServer } from '../servers/needed-programs.ts';
import { compare } from './stored-forms.ts';

describe('what 0.1.0 stored in SQLite and its archive', () => {
  it('is told as it was then', async () => {
    const { told, then } = await compare('sqlite');
    expect(told).to.deep.equal(then);
  });
});

describeWithServer('redis-server', 'what 0.1.0 stored in Redis and its archive', () => {
  it('is told as it was then', async () => {
    const { told, then } = await compare('redis');
    expect(told).to.deep.equal(then);
  });
});
