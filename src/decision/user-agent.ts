import { isbot } from 'isbot';

/**
 * The kind of sender of a User-Agent. `browser` includes the browser that an app opens within itself. `app` is a
 * native app, known by its HTTP library. `program` is a crawler, script or headless browser. An unknown text that
 * looks like no program is a browser.
 */
export type UserAgentSender = 'browser' | 'app' | 'program';

/** Programs that isbot misses because their texts begin like a browser's. */
const SCRIPTING_SHELL = /PowerShell\/\d/i;

/**
 * The words by which crawlers name themselves. A phone of the brand Cubot does not match, and neither does an app
 * called iRobot.
 */
const CRAWLER =
  /(?<![a-z])bots?\b|\b(?:google|bing|yandex|apple|ads|gpt|petal|semrush|ahrefs)bot\b|crawl|spider|scrap|headless|lighthouse|\bptst\/|\(compatible;|\+https?:/i;

/**
 * HTTP libraries of native apps: Android (okhttp, Dalvik, Volley, Cronet, the former Apache-HttpClient of Android),
 * Apple (CFNetwork, Alamofire, AFNetworking), Flutter (Dart), Unity and React Native. The libraries of servers and
 * scripts, such as axios, node-fetch, Java or any other Apache-HttpClient, belong to programs.
 */
const APP_LIBRARY =
  /\b(?:okhttp|CFNetwork|Dart|Dalvik|Alamofire|AFNetworking|volley|Cronet|UnityPlayer|ReactNative)(?:\/\d|$)|^Apache-HttpClient\/UNAVAILABLE \(java 1\.\d\)$/i;

/**
 * Finds apps that name themselves and the phone's system, such as `MyShop/5.4 (iPhone; iOS 17.4)` or
 * `my-shop-android/4.3`.
 */
const PHONE_SYSTEM = /(?:^|[^a-z])(?:android|ios|ipados|iphone|ipad)(?![a-z])/i;
const BROWSER = /^(?:Mozilla|Opera|UCWEB)\/|AppleWebKit|Gecko|Presto/;

/**
 * The phone in the User-Agent of an Android browser. Some makers call models Discovery or Catcher, and isbot reads
 * such a name as a program's.
 */
const ANDROID_PHONE = /^(Mozilla\/5\.0) \(Linux; (?:U; )?Android [^()]*(?:\([^()]*\)[^()]*)*\)/;

/** The browser that an app opens within itself. Each app adds its own text to the User-Agent of this browser. */
const BROWSER_OF_APP =
  /^Mozilla\/5\.0 \((?:Linux; (?:U; )?Android [^)]*; wv\)|(?:iPhone|iPad|iPod)[^)]*\) AppleWebKit\/\S+ \(KHTML, ?like Gecko\)(?!.* Safari\/) Mobile\/)/;

/** Texts that browsers and their extensions add at the end, and that isbot reads as a program's name. */
const ADDED_TO_BROWSER = /(?: \|\|\| ReqID:.*| NewsBreak\/\S+| SogouMobileBrowser\/\S+| Mail\.ru\/\S+)$/;

/** Classifies the sender of a User-Agent. Anybody can send any text, so the result is a hint and never a proof. */
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
