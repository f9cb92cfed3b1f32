/** Where this script was loaded from, which is the service unless the site names another. */
export const HOME: string = import.meta.url;
