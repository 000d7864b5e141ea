import { describeConsole, NARROW } from '../console-tab.ts';

describeConsole("the console's page Approvals", (tab) => {
  it('says where proposals come from while there is none', async () => {
    await tab.openOwn(tab.seeded.key, '#/settings/approvals', NARROW);
    await tab.page.getByText('Nothing waits for approval').waitFor();
    await tab.expectNoFindings();
  });
});
