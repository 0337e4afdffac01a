// Opens the built page in headless Chromium, asks, approves, and prints what the page shows.
import { chromium } from "playwright-core";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [page_url, executablePath, what] = process.argv.slice(2);
const args = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync".split(" ");
const context = await chromium.launchPersistentContext(mkdtempSync(join(tmpdir(), "chromium-")), {
  executablePath,
  headless: true,
  args,
});
const page = await context.newPage();
const errors = [];
page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
page.on("pageerror", (error) => errors.push(String(error)));
page.setDefaultTimeout(20000);
try {
  await page.goto(page_url);
  await page.click("#ask");
  const question = what === "approve" ? await page.textContent("#question") : null;
  await page.click(what === "approve" ? "#approve" : "#pick");
  await page.waitForSelector("li.assistant:has-text('Done.')");
  const messages = await page.$$eval("#messages li", (items) => items.map((item) => [item.className, item.textContent]));
  console.log(JSON.stringify({ question, messages, errors }));
} catch (error) {
  console.error(String(error), await page.content().catch(() => ""), errors);
  process.exitCode = 1;
} finally {
  await context.close();
}
