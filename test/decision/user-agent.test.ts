import { expect } from 'chai';
import fc from 'fast-check';
import { classifyUserAgent, type UserAgentSender } from '#decision/user-agent.ts';

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';
const WEB_VIEW = `Mozilla/5.0 (Linux; Android 13; SM-S901B Build/TP1A.220624.014; wv) ${WEBKIT} Version/4.0 Chrome/124.0.6367.179 Mobile Safari/537.36`;

const USER_AGENTS: Readonly<Record<UserAgentSender, readonly string[]>> = {
  app: [
    'okhttp/4.12.0',
    'okhttp/5.0.0-alpha.14',
    'Shop/3.2 (Android 14) okhttp/4.12.0',
    'my-shop/4.3 okhttp/4.9.0',
    'MyShop/54 CFNetwork/1494.0.7 Darwin/23.4.0',
    'My%20Shop/54 CFNetwork/1335.0.3.4 Darwin/21.6.0',
    'shop.com/54 CFNetwork/1335.0.3.4 Darwin/21.6.0',
    'iRobot/5.2 CFNetwork/1335.0.3.4 Darwin/21.6.0',
    'Dart/3.3 (dart:io)',
    'Dalvik/2.1.0 (Linux; U; Android 13; Pixel 7 Build/TQ3A.230805.001)',
    'Dalvik/2.1.0',
    'Boulanger/22.3.0 (fr.boulanger.Boulanger; build:823; iOS 15.4.1) Alamofire/4.9.1',
    'AFNetworking/2.5',
    'volley/0',
    'com.shop.app/1.0 (Linux; Android) Cronet/120.0',
    'UnityPlayer/2022.3.10f1 (UnityWebRequest/1.0, libcurl/8.1.1-DEV)',
    'ReactNative/0.73',
    'Apache-HttpClient/UNAVAILABLE (java 1.4)',
    'MyShop/5.4 (iPhone; iOS 17.4; Scale/3.00)',
    'MyShop/5.4.1 Android/14',
    'my-shop-android/4.3',
    'MyShop-iOS/5.4 (build 12)',
    'Safari/600.2.5 MobileRicardo (Google Pixel 6; android 13) ricardo.ch/8.28.2-82802 (debug)',
  ],
  program: [
    'Mozilla/5.0 (Windows NT; Windows NT 10.0; de-DE) WindowsPowerShell/5.1.19041.1',
    'Mozilla/5.0 (Windows NT 10.0; Microsoft Windows 10.0.19045; en-US) PowerShell/7.4.1',
    'curl/8.5.0',
    'Wget/1.21.4',
    'python-requests/2.32.5',
    'python-httpx/0.27.0',
    'aiohttp/3.9.5',
    'Go-http-client/2.0',
    'axios/1.6.8',
    'node-fetch/1.0 (+https://github.com/bitinn/node-fetch)',
    'undici',
    'Java/17.0.2',
    'Java-http-client/21.0.1',
    'Apache-HttpClient/4.5.14 (Java/17.0.2)',
    'GuzzleHttp/7',
    'PostmanRuntime/7.36.3',
    'Mozilla/4.0 (compatible; Win32; WinHttp.WinHttpRequest.5)',
    `Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} HeadlessChrome/120.0.0.0 Safari/537.36`,
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Cypress/13.6.0 Chrome/114.0 Electron/25 Safari/537.36`,
    `Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) ${WEBKIT} Chrome/120.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)`,
    `Mozilla/5.0 (Linux; Android 11; moto g power (2022)) ${WEBKIT} Chrome/119.0 Mobile Safari/537.36 Chrome-Lighthouse`,
    `${IPHONE} Mobile/15E148 (compatible; AdsBot-Google-Mobile; +http://www.google.com/mobile/adsbot.html)`,
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
    'WhatsApp/2.23.20.0',
    'SomeCrawler/1.0 okhttp/4.12.0',
  ],
  browser: [
    'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/120.0.0.0 Safari/537.36 Edg/120.0`,
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15',
    `Mozilla/5.0 (Linux; Android 10; K) ${WEBKIT} Chrome/124.0.0.0 Mobile Safari/537.36`,
    'Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko',
    'Opera/9.80 (Android; Opera Mini/36.2/119.132; U; id) Presto/2.12.423 Version/12.16',
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} MyShop/1.2.3 Chrome/120.0.6099.109 Electron/28.1.0 Safari/537.36`,
    // Phones whose model has a program's name.
    `Mozilla/5.0 (Linux; Android 4.4.2; Discovery Build/KOT49H) ${WEBKIT} Chrome/81.0 Mobile Safari/537.36`,
    `Mozilla/5.0 (Linux; Android 9; CUBOT POWER) ${WEBKIT} Chrome/87.0.4280.141 Mobile Safari/537.36`,
    `Mozilla/5.0 (Linux; Android 11; Cubot Note 20) ${WEBKIT} Chrome/100.0 Mobile Safari/537.36`,
    `Mozilla/5.0 (Linux; Android 12; moto g(50) 5G Build/S1RSS32.38-20-9-13; wv) ${WEBKIT} Version/4.0 Chrome/124.0 Mobile Safari/537.36 Instagram 333.0.0.42.91 Android (31/12; 280dpi; 720x1462; motorola; moto g(50) 5G; saipan; mt6833; pt_BR; 604247853)`,
    // Browsers that apps open.
    WEB_VIEW,
    `${WEB_VIEW} my-shop.com/4.2`,
    `${WEB_VIEW} csh-shop-flutter csh-store-checkout`,
    `${WEB_VIEW} trill_2021806060 JsSdk/1.0 NetType/WIFI Channel/googleplay AppName/musical_ly Region/FR`,
    `${WEB_VIEW} Snapchat/12.87.0.44 (RMX2001; Android 11#1647528410731#30; gzip; )`,
    `${WEB_VIEW} Instagram 308.0.0.36.109 Android (33/13; 320dpi; 720x1460; Xiaomi/Redmi; 23028RN4DI; cloud; mt6765; en_IN; 534961943)`,
    `${WEB_VIEW}HiSearch/22.0.6.315`,
    `${WEB_VIEW} NewsBreak/2.0`,
    `${IPHONE} Mobile/15E148 Instagram 320.0.0.0 (iPhone14,3; iOS 17_5; en_IR@calendar=gregorian; en; scale=3.00; 1125x2436; 595323416)`,
    `${IPHONE} Mobile/15E148 [FBAN/FBPageAdmin;FBAV/400.0.0.21.108;FBBV/620787505;FBDV/iPhone15,3;FBMD/iPhone]`,
    `${IPHONE} Mobile/15E148 GoogleWv/1.0 (WKWebView) GeminiiOS/1.2026.2270600`,
    `${IPHONE} Mobile/15E148 my-shop.com/4.2`,
    `${IPHONE} GSA/300.0 Mobile/15E148 Safari/604.1`,
    `${IPHONE} Version/17.2 Mobile/15E148 Safari/605.1 NAVER(inapp; search; 2000; 12.3.6; 14PRO)`,
    '[FBAN/FB4A;FBAV/567.1.0.52.74;FBBV/1003893689;FBLC/nl_NL;FBCR/NL KPN;FBMF/samsung;FBBD/samsung;FBPN/com.facebook.katana;FBDV/SM-S921B;FBSV/16;FBOP/1;FBCA/arm64-v8a:;]',
    // What extensions and other browsers add.
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/127.0.0.0 Safari/537.36 ||| ReqID: 472 | TabID: 643408467 | Type: xmlhttprequest | Initiator: https://shop.example`,
    `Mozilla/5.0 (Linux; Android 10; SM-G960F) ${WEBKIT} Chrome/92.0 Mobile Safari/537.36 SogouMobileBrowser/5.0`,
  ],
};

describe('a User-Agent', () => {
  for (const sender of ['app', 'program', 'browser'] as const)
    for (const userAgent of USER_AGENTS[sender])
      it(`${userAgent.slice(0, 90)} is of ${sender === 'app' ? 'an' : 'a'} ${sender}`, () => {
        expect(classifyUserAgent(userAgent), userAgent).to.equal(sender);
      });

  it('of any text is classified', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 512 }), (text) => {
        expect(['app', 'program', 'browser']).to.include(classifyUserAgent(text));
      }),
    );
  });
});
