import { isbot } from 'isbot';

/**
 * Who sends a User-Agent: `browser` (also the one that an app opens), `app` (a native app, by its HTTP library) or
 * `program` (a crawler, script or headless browser). Unknown texts that look like nobody's program are browsers.
 */
export type UserAgentSender = 'browser' | 'app' | 'program';

/** Names of programs that isbot does not know, because they begin like a browser. */
const SCRIPTING_SHELL = /PowerShell\/\d/i;

/** What crawlers call themselves; a phone of the make Cubot is none, and neither is an app called iRobot. */
const CRAWLER =
  /(?<![a-z])bots?\b|\b(?:google|bing|yandex|apple|ads|gpt|petal|semrush|ahrefs)bot\b|crawl|spider|scrap|headless|lighthouse|\bptst\/|\(compatible;|\+https?:/i;

/**
 * HTTP libraries of native apps: Android (okhttp, Dalvik, Volley, Cronet, the former Apache-HttpClient of Android), Apple
 * (CFNetwork, Alamofire, AFNetworking), Flutter (Dart), Unity and React Native. Those of servers and scripts, such as
 * axios, node-fetch, Java or Apache-HttpClient elsewhere, are programs.
 */
const APP_LIBRARY =
  /\b(?:okhttp|CFNetwork|Dart|Dalvik|Alamofire|AFNetworking|volley|Cronet|UnityPlayer|ReactNative)(?:\/\d|$)|^Apache-HttpClient\/UNAVAILABLE \(java 1\.\d\)$/i;

/** An app that names itself and the phone's system, such as `MyShop/5.4 (iPhone; iOS 17.4)` or `my-shop-android/4.3`. */
const PHONE_SYSTEM = /(?:^|[^a-z])(?:android|ios|ipados|iphone|ipad)(?![a-z])/i;
const BROWSER = /^(?:Mozilla|Opera|UCWEB)\/|AppleWebKit|Gecko|Presto/;

/** The phone of an Android browser; makers call models Discovery or Catcher, which isbot reads as a program's name. */
const ANDROID_PHONE = /^(Mozilla\/5\.0) \(Linux; (?:U; )?Android [^()]*(?:\([^()]*\)[^()]*)*\)/;

/** The browser that an app opens within itself: to its User-Agent every app adds what it likes. */
const BROWSER_OF_APP =
  /^Mozilla\/5\.0 \((?:Linux; (?:U; )?Android [^)]*; wv\)|(?:iPhone|iPad|iPod)[^)]*\) AppleWebKit\/\S+ \(KHTML, ?like Gecko\)(?!.* Safari\/) Mobile\/)/;

/** What people's browsers and their extensions add at the end, and isbot reads as a program's name. */
const ADDED_TO_BROWSER = /(?: \|\|\| ReqID:.*| NewsBreak\/\S+| SogouMobileBrowser\/\S+| Mail\.ru\/\S+)$/;

/** Says who sends a User-Agent. Anybody may write any: it is a hint, never a proof. */
export function classifyUserAgent(userAgent: string): UserAgentSender {
  const text = userAgent.trim();
  if (SCRIPTING_SHELL.test(text)) return 'program';
  if (CRAWLER.test(text)) return isbot(text) ? 'program' : 'browser';
  if (APP_LIBRARY.test(text)) return 'app';
  if (!BROWSER.test(text) && PHONE_SYSTEM.test(text)) return 'app';
  if (BROWSER_OF_APP.test(text)) return 'browser';
  const plain = text.replace(ANDROID_PHONE, '$1 (Linux; Android 10; K)').replace(ADDED_TO_BROWSER, '');
  return isbot(plain) ? 'program' : 'browser';
}
