// @ts-check
'use strict';

/** What each option becomes on the script that the page loads. */
const ATTRIBUTES = {
  key: 'data-key',
  book: 'data-book',
  theme: 'data-theme',
  position: 'data-position',
  language: 'data-language',
};
const NAMES = ['server', ...Object.keys(ATTRIBUTES)];

/**
 * @param {import('@docusaurus/types').LoadContext} _context
 * @param {import('./index').PluginOptions} options
 * @returns {import('@docusaurus/types').Plugin}
 */
function pluginCitewell(_context, options) {
  const server = options.server.replace(/\/+$/, '');
  const attributes = Object.entries(ATTRIBUTES)
    .filter(([name]) => options[name])
    .map(([name, attribute]) => [attribute, options[name]]);
  return {
    name: 'docusaurus-plugin-citewell',
    // Outside of what React renders: the chat stays open while the reader goes from page to page.
    injectHtmlTags: () => ({
      postBodyTags: [
        {
          tagName: 'script',
          attributes: { type: 'module', src: `${server}/widget.js`, ...Object.fromEntries(attributes) },
        },
      ],
    }),
  };
}

/**
 * @param {{ options: Record<string, unknown> }} given
 * @returns {import('./index').PluginOptions}
 */
function validateOptions({ options: { id, ...options } }) {
  const unknown = Object.keys(options).filter((name) => !NAMES.includes(name));
  if (unknown.length) {
    throw new Error(`docusaurus-plugin-citewell has no option ${unknown.join(', ')}; known: ${NAMES.join(', ')}.`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && typeof value !== 'string') {
      throw new Error(`docusaurus-plugin-citewell: ${name} has to be a text.`);
    }
  }
  if (!/^https?:\/\/[^/]/.test(String(options.server))) {
    throw new Error('docusaurus-plugin-citewell needs `server`, the address of Citewell: https://….');
  }
  // @ts-ignore - Docusaurus gives every plugin an id
  return { id, ...options };
}

module.exports = pluginCitewell;
module.exports.validateOptions = validateOptions;
